// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title A plain ERC-20 for the sandbox: no permits, no authorizations. It is paid with by Permit2.
/// @notice Anybody may mint.
contract SandboxCoin {
    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;

    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _transfer(msg.sender, to, value);
        return true;
    }

    /// @dev Like the pegged tokens of BNB Chain it writes the allowance each time, unlimited or not.
    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 approved = allowance[from][msg.sender];
        require(approved >= value, "BEP20: transfer amount exceeds allowance");
        _transfer(from, to, value);
        allowance[from][msg.sender] = approved - value;
        emit Approval(from, msg.sender, approved - value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function _transfer(address from, address to, uint256 value) private {
        require(to != address(0), "BEP20: transfer to the zero address");
        uint256 balance = balanceOf[from];
        require(balance >= value, "BEP20: transfer amount exceeds balance");
        unchecked {
            balanceOf[from] = balance - value;
            balanceOf[to] += value;
        }
        emit Transfer(from, to, value);
    }
}
